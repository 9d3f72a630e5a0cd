"""`python -m xattend`, and `torchrun -m xattend train ...`."""

from xattend.cli import main

if __name__ == "__main__":
    main()
