import { parseExact } from '#shared/core/lossless-json.ts';

const TEXT_OR_TEMPLATE = /"(?:\\.|[^"\\])*"|\{\{.*?\}\}/gs;

/**
 * Parses JSON in which templates may stand without quotes, as in `{"id": {{inputs.id}}}`. They become texts, which the API fills with
 * values of their types. Throws for what is not JSON, and for a number that a double does not hold.
 */
export function parseTemplateJSON(text: string): unknown {
  return parseExact(text.replace(TEXT_OR_TEMPLATE, (part) => (part.startsWith('{{') ? JSON.stringify(part) : part)));
}
