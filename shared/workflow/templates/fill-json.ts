import type { Json } from '../../core/json.ts';
import { invalidField } from '../../core/schema/issues.ts';
import { asText, type Expression } from './expressions.ts';
import { Filled, findTemplate } from './templates.ts';

/** Fills a text that is JSON: values outside of quotes are written as JSON, inside of quotes they are escaped. */
export function fillJSON(field: string, text: string, find: (expression: Expression) => Json | undefined): string {
  const filled = new Filled();
  let isQuoted = false;
  for (const part of findTemplate(text)?.parts ?? [text]) {
    if (typeof part === 'string') {
      filled.add(part);
      isQuoted = endsQuoted(part, isQuoted);
    } else filled.insert(find(part), isQuoted ? inQuotes : asJSON);
  }
  if (filled.text.trim() === '') return '';
  try {
    JSON.parse(filled.text);
  } catch (cause) {
    throw invalidField(field, 'is not valid JSON after its values are filled in', { cause });
  }
  return filled.text;
}

function inQuotes(value: Json | undefined): string {
  return JSON.stringify(asText(value)).slice(1, -1);
}

function asJSON(value: Json | undefined): string {
  return JSON.stringify(value ?? null);
}

function endsQuoted(text: string, isQuoted: boolean): boolean {
  let inside = isQuoted;
  for (const [token] of text.matchAll(/\\.|"/gs)) if (token === '"') inside = !inside;
  return inside;
}
