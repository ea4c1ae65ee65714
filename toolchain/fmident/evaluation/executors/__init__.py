"""Executors of simulations: this process, worker processes, other machines."""
