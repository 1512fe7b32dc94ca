"""Physics tasks, one file each: values with units and small quantum systems, every answer exact."""
