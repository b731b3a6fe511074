"""Mechanisms: how public integers are drawn from exact ones, at which loss, with which error. One file each."""
