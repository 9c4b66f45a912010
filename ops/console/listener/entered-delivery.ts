import { parseExact } from '#shared/core/lossless-json.ts';

/** The texts of a person as a delivery. A body that is not JSON is sent as text. Throws for a line that is no header. */
export function enteredDelivery(body: string, headers: string): { body: unknown; headers: Record<string, string> } {
  const lines = headers.split('\n').filter((line) => line.trim() !== '');
  const pairs = lines.map((line): [string, string] => {
    const at = line.indexOf(':');
    if (at < 1) throw new Error(`Headers: “${line}” has no colon; expected Name: value`);
    return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
  return { body: asTyped(body), headers: Object.fromEntries(pairs) };
}

function asTyped(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}
