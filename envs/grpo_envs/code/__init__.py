"""Programming tasks: functions and programs by generated rules, judged by hidden tests."""
