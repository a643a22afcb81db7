"""What engines.py was asked for, on standard input, and what its engines share."""
import json
import sys

asked = json.load(sys.stdin)
uri, bucket, key, column = asked["uri"], asked["bucket"], asked["key"], asked["column"]
# What is to be called when all is read.
ended = []


def quoted(name, mark='"'):
    return mark + name.replace(mark, mark * 2) + mark
