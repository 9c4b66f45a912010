import type { Request, Response } from 'express';
import type { SentPage } from './page.ts';

export function sendPage(response: Response, status: number, { headers, text }: SentPage): void {
  response.status(status).set(headers).send(text);
}

/** A field of a form, cut to a length. A form without it counts as one with an empty field. */
export function fieldOf({ body }: Request, name: string, maxLength: number): string {
  const value: unknown = body && Object.hasOwn(body, name) ? body[name] : undefined;
  return typeof value === 'string' ? value.slice(0, maxLength + 1).replaceAll('\0', '') : '';
}

/** Undefined for what is no JSON object. */
export function readJSON(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
