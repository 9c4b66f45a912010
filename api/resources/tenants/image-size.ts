/** Width and height from the header of an image; undefined when the header is malformed. */
export interface ImageSize {
  width: number;
  height: number;
}

type Read = (bytes: Buffer) => ImageSize | undefined;

/** Reads the size from the header of the image's type. */
export function imageSizeOf(type: string, bytes: Buffer): ImageSize | undefined {
  try {
    return readers[type]?.(bytes);
  } catch (error) {
    // The header is cut off.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const readers: Record<string, Read> = {
  'image/png': (bytes) => ({ width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }),
  'image/gif': (bytes) => ({ width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }),
  'image/jpeg': readJPEG,
  'image/webp': readWebP,
};

/** Markers of frames; C4, C8 and CC, which lie between them, are tables. */
const isFrame = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

/** Walks the segments, each of which has its length, to the first frame, which has the size. */
function readJPEG(bytes: Buffer): ImageSize | undefined {
  for (let at = 2; bytes.readUInt8(at) === 0xff; ) {
    const marker = bytes.readUInt8(at + 1);
    if (marker === 0xff) {
      // A fill byte before the marker.
      at += 1;
      continue;
    }
    if (isFrame(marker)) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

function readWebP(bytes: Buffer): ImageSize | undefined {
  const chunk = bytes.toString('latin1', 12, 16);
  if (chunk === 'VP8X') return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  if (chunk === 'VP8 ') return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
  if (chunk !== 'VP8L') return undefined;
  // Two numbers of 14 bits, each stored minus one.
  const bits = bytes.readUInt32LE(21);
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
}
