import { asText, evaluateIn, findTemplate, type Roots } from '#shared/workflow/templates.ts';

/**
 * Fills the templates of a URL, or returns a fault. A template at the beginning may be any address. Other values stay inside
 * their part of the URL: they can neither end it nor be `.` or `..`.
 */
export function fillURL(text: string, roots: Roots): { url: string } | { fault: string } {
  let url = '';
  let isTouched = false;
  for (const [index, part] of (findTemplate(text)?.parts ?? [text]).entries()) {
    if (typeof part === 'string') {
      url += part;
      continue;
    }
    const value = asText(evaluateIn(part, roots));
    if (index === 0) {
      url = value;
      continue;
    }
    if (isInAuthority(url) && !/^[A-Za-z0-9.-]+$/.test(value))
      return { fault: 'a value before the path must be a host name or a part of one' };
    isTouched = true;
    url += encodeURIComponent(value);
  }
  if (isTouched && hasStep(url)) return { fault: 'a value cannot be "." or ".." in the path' };
  return { url };
}

/** Whether the next character still belongs to the host or the port. */
function isInAuthority(url: string): boolean {
  return !/^[a-z][a-z0-9+.-]*:[/\\]{2}[^/\\?#]*[/\\?#]/i.test(url);
}

/** URL parsers treat an encoded dot as a dot, and some servers decode a segment before they look for `..`. */
function hasStep(url: string): boolean {
  const [path = ''] = url.replace(/^[a-z][a-z0-9+.-]*:[/\\]{2}/i, '').split(/[?#]/);
  return path.split(/[/\\]|%2f|%5c/i).some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));
}
