import type { JsonObject } from '../json.ts';
import { evaluate, findTemplate, written } from './templates.ts';

/**
 * A URL with its values in place, or what is wrong with one of them. A URL that is one template, or begins with one, takes that
 * value as an address; any other value is a part of what it stands in and can neither end it nor step up.
 */
export function fillURL(text: string, scope: JsonObject, root = 'ctx'): { url: string } | { fault: string } {
  let url = '';
  let isTouched = false;
  for (const [index, part] of (findTemplate(text)?.parts ?? [text]).entries()) {
    if (typeof part === 'string') {
      url += part;
      continue;
    }
    const value = written(evaluate(part, scope, root));
    if (index === 0) {
      url = value;
      continue;
    }
    if (isInAuthority(url) && !/^[A-Za-z0-9.-]+$/.test(value))
      return { fault: 'a value cannot be more than a host name there' };
    isTouched = true;
    url += encodeURIComponent(value);
  }
  if (isTouched && hasStep(url)) return { fault: 'a value cannot be a step in the path' };
  return { url };
}

/** Whether what comes next still belongs to the host or the port. */
function isInAuthority(url: string): boolean {
  return !/^[a-z][a-z0-9+.-]*:[/\\]{2}[^/\\?#]*[/\\?#]/i.test(url);
}

/** An encoded dot is a dot to the parser of URLs, and some servers decode a segment before they look for steps in it. */
function hasStep(url: string): boolean {
  const [path = ''] = url.replace(/^[a-z][a-z0-9+.-]*:[/\\]{2}/i, '').split(/[?#]/);
  return path.split(/[/\\]|%2f|%5c/i).some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));
}
