"""Ask a table anything; learn about no one."""
