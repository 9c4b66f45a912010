import { AppError } from '#shared/core/errors.ts';
import { quote } from '#shared/core/quote.ts';

/** The number of a version as an entity tag. */
export function etagOf(versionNumber: number): string {
  return `"${versionNumber}"`;
}

/**
 * Compares the versions of assets with the `If-Match` of a request, if there is one. A tag that was made weak matches too: proxies that
 * compress a response make its tag weak, and a version says what the asset is, not how it was sent.
 */
export function createMatch(header: string | undefined): (versionNumber: number) => void {
  if (header === undefined) return () => undefined;
  const wanted = parse(header);
  return (versionNumber) => {
    const etag = etagOf(versionNumber);
    if (wanted === 'any' || wanted.has(etag)) return;
    throw new AppError(
      'PRECONDITION_FAILED',
      `This was changed meanwhile: it is version ${versionNumber} now, and If-Match names ${quote(header)}`,
      { details: { versionNumber, etag } },
    );
  };
}

function parse(header: string): 'any' | ReadonlySet<string> {
  const text = header.trim();
  if (text === '*') return 'any';
  if (!TAGS.test(text))
    throw new AppError(
      'VALIDATION_ERROR',
      `If-Match: expected * or the ETag of an answer, such as "3" with its quotes, received ${quote(text)}`,
    );
  return new Set(text.match(TAG));
}

/** Our tags contain neither a comma nor a space. */
const TAG = /"[\x21\x23-\x7e]*"/g;
const TAGS = /^(?:W\/)?"[\x21\x23-\x7e]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e]*")*$/;
