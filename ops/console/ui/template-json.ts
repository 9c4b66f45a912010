const TEXT_OR_TEMPLATE = /"(?:\\.|[^"\\])*"|\{\{.*?\}\}/gs;

/**
 * Parses JSON in which templates may stand without quotes, as in `{"id": {{inputs.id}}}`. They become texts, which the API fills with
 * values of their types. Throws as `JSON.parse` does.
 */
export function parseTemplateJSON(text: string): unknown {
  return JSON.parse(text.replace(TEXT_OR_TEMPLATE, (part) => (part.startsWith('{{') ? JSON.stringify(part) : part)));
}
