"""The promises, one file each. The file name is the id: `refill_immediate.py` is `refill/immediate`."""
