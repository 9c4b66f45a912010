import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import { type Issue, invalid } from '#shared/core/schema/issues.ts';

/**
 * The values with which a binding runs: those that the page fixes, and those that the viewer gives in the place of its templates. The
 * viewer's browser resolves templates, so it may send the fixed values as well; another value in their place is refused.
 */
export function resolveParameters(declared: JsonObject, given: JsonObject): JsonObject {
  const issues = Object.keys(given).flatMap((key): Issue[] => {
    const path = ['inputValues', key];
    if (!Object.hasOwn(declared, key)) return [{ path, message: 'is not a parameter that the page declares' }];
    return fits(declared[key] ?? null, given[key] ?? null) ? [] : [{ path, message: 'is fixed by the page' }];
  });
  if (issues.length > 0) throw invalid(issues);
  const values = Object.entries(declared).flatMap(([key, value]): [string, Json][] => {
    if (Object.hasOwn(given, key)) return [[key, given[key] ?? null]];
    return hasTemplate(value) ? [] : [[key, value]];
  });
  return Object.fromEntries(values);
}

/**
 * Whether a value can have come from the declared one by filling in its templates: a caller may choose what a template inserts, and nothing
 * that the page has fixed.
 */
function fits(declared: Json, given: Json): boolean {
  if (typeof declared === 'string') return fitsText(declared, given);
  if (Array.isArray(declared))
    return (
      Array.isArray(given) &&
      given.length === declared.length &&
      declared.every((value, at) => fits(value, given[at] ?? null))
    );
  if (!isJsonObject(declared)) return isDeepStrictEqual(declared, given);
  return (
    isJsonObject(given) &&
    Object.keys(given).every((key) => Object.hasOwn(declared, key)) &&
    Object.entries(declared).every(([key, value]) =>
      Object.hasOwn(given, key) ? fits(value, given[key] ?? null) : hasTemplate(value),
    )
  );
}

/** A template alone may become any value, and one within a text any part of it. */
function fitsText(declared: string, given: Json): boolean {
  const [first = '', ...rest] = literalsOf(declared);
  if (rest.length === 0) return given === declared;
  if (rest.length === 1 && first.trim() === '' && rest[0]?.trim() === '') return true;
  if (typeof given !== 'string' || !given.startsWith(first)) return false;
  const last = rest.pop() ?? '';
  let at = first.length;
  for (const literal of rest) {
    const found = given.indexOf(literal, at);
    if (found === -1) return false;
    at = found + literal.length;
  }
  return given.length - last.length >= at && given.endsWith(last);
}

export function hasTemplate(value: Json): boolean {
  if (typeof value === 'string') return literalsOf(value).length > 1;
  if (Array.isArray(value)) return value.some(hasTemplate);
  return isJsonObject(value) && Object.values(value).some(hasTemplate);
}

/** Literal parts before, between and after the templates of a text: one more than it has templates. */
function literalsOf(text: string): string[] {
  const literals: string[] = [];
  let from = 0;
  for (;;) {
    const start = text.indexOf('{{', from);
    const end = start === -1 ? -1 : text.indexOf('}}', start + 2);
    if (end === -1) return [...literals, text.slice(from)];
    literals.push(text.slice(from, start));
    from = end + 2;
  }
}
