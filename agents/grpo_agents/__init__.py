"""GRPO and SFT for causal language models, on any Gymnasium text environment.

Nothing is imported here: `grpo_agents.grpo`, `grpo_agents.policy` and their neighbours load torch, so each is imported
where it is used.
"""
