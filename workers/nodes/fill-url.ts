import type { Json } from '#shared/core/json.ts';
import { asText, evaluateIn, type Roots } from '#shared/workflow/templates/expressions.ts';
import { Filled, findTemplate } from '#shared/workflow/templates/templates.ts';

/**
 * Fills the templates of a URL, or returns a fault. A template at the beginning may be any address. Other values stay inside
 * their part of the URL: they can neither end it nor be `.` or `..`.
 */
export function fillURL(text: string, roots: Roots): { url: string } | { fault: string } {
  const url = new Filled();
  let hasInsertedValue = false;
  let isInPath = false;
  for (const [index, part] of (findTemplate(text)?.parts ?? [text]).entries()) {
    if (typeof part === 'string') {
      url.add(part);
      continue;
    }
    const value = evaluateIn(part, roots);
    if (index === 0) {
      url.insert(value);
      continue;
    }
    isInPath ||= !isInAuthority(url.text);
    if (!isInPath && !/^[A-Za-z0-9.-]+$/.test(asText(value)))
      return { fault: 'a value before the path must be a host name or a part of one' };
    hasInsertedValue = true;
    url.insert(value, encoded);
  }
  if (hasInsertedValue && hasDotSegment(url.text)) return { fault: 'a value cannot be "." or ".." in the path' };
  return { url: url.text };
}

function encoded(value: Json | undefined): string {
  return encodeURIComponent(asText(value));
}

/** Whether the next character still belongs to the host or the port. */
function isInAuthority(url: string): boolean {
  return !/^[a-z][a-z0-9+.-]*:[/\\]{2}[^/\\?#]*[/\\?#]/i.test(url);
}

/** URL parsers treat an encoded dot as a dot, and some servers decode a segment before they look for `..`. */
function hasDotSegment(url: string): boolean {
  const [path = ''] = url.replace(/^[a-z][a-z0-9+.-]*:[/\\]{2}/i, '').split(/[?#]/);
  return path.split(/[/\\]|%2f|%5c/i).some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));
}
