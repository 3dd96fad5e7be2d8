"""Encodes the header lists of standard input with nghttp2, by its library and no binding."""

import ctypes
from stories import encode_all

# The encoder uses no more than this of the table that it may have, in bytes.
TABLE_LIMIT = 65536
# NGHTTP2_NV_FLAG_NO_INDEX
NO_INDEX = 1

library = ctypes.CDLL("libnghttp2.so.14")


class Field(ctypes.Structure):
    """nghttp2_nv"""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("value", ctypes.c_char_p),
        ("name_length", ctypes.c_size_t),
        ("value_length", ctypes.c_size_t),
        ("flags", ctypes.c_uint8),
    ]


library.nghttp2_hd_deflate_bound.restype = ctypes.c_size_t
library.nghttp2_hd_deflate_hd.restype = ctypes.c_ssize_t
library.nghttp2_hd_deflate_hd.argtypes = [
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_size_t,
    ctypes.POINTER(Field),
    ctypes.c_size_t,
]
library.nghttp2_hd_deflate_bound.argtypes = [ctypes.c_void_p, ctypes.POINTER(Field), ctypes.c_size_t]
library.nghttp2_hd_deflate_change_table_size.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def start(_at):
    deflater = ctypes.c_void_p()
    library.nghttp2_hd_deflate_new(ctypes.byref(deflater), ctypes.c_size_t(TABLE_LIMIT))

    def encode(fields, table_size):
        if table_size is not None:
            library.nghttp2_hd_deflate_change_table_size(deflater, table_size)
        count = len(fields)
        array = (Field * count)(
            *(Field(name, value, len(name), len(value), NO_INDEX if secret else 0) for name, value, secret in fields)
        )
        size = library.nghttp2_hd_deflate_bound(deflater, array, count)
        out = ctypes.create_string_buffer(size)
        length = library.nghttp2_hd_deflate_hd(deflater, out, size, array, count)
        if length < 0:
            raise RuntimeError(f"nghttp2_hd_deflate_hd: {length}")
        return out.raw[:length]

    return encode


encode_all(start)
