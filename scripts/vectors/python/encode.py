"""Encodes the header lists of standard input with hpack, the encoder of Python's hyper-h2. Every other story has no Huffman code."""

from hpack import Encoder
from stories import encode_all


def start(at):
    encoder = Encoder()

    def encode(fields, table_size):
        if table_size is not None:
            encoder.header_table_size = table_size
        return encoder.encode(fields, huffman=at % 2 == 0)

    return encode


encode_all(start)
