/** Finds the type of an image by its first bytes; undefined for other files. SVG is not accepted, because it can contain scripts. */
export function imageTypeOf(bytes: Buffer): string | undefined {
  return signatures.find(({ parts }) =>
    parts.every(([offset, text]) => bytes.subarray(offset, offset + text.length).equals(Buffer.from(text, 'latin1'))),
  )?.type;
}

const signatures: { type: string; parts: [offset: number, text: string][] }[] = [
  {
    type: 'image/png',
    parts: [
      [0, '\x89PNG\r\n\x1a\n'],
      [12, 'IHDR'],
    ],
  },
  { type: 'image/jpeg', parts: [[0, '\xff\xd8\xff']] },
  { type: 'image/gif', parts: [[0, 'GIF87a']] },
  { type: 'image/gif', parts: [[0, 'GIF89a']] },
  {
    type: 'image/webp',
    parts: [
      [0, 'RIFF'],
      [8, 'WEBPVP8'],
    ],
  },
];
