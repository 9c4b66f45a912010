import express, { type Request, type RequestHandler, type Response } from 'express';
import { AppError } from '#shared/errors.ts';

export type ReadBody = (request: Request, response: Response) => Promise<unknown>;

/**
 * Reads a JSON or URL-encoded body when a route asks for it, which is after it knows who is there: a stranger neither learns
 * what would be wrong with a body nor has us parse it.
 */
export function bodyReader({ limitBytes }: { limitBytes: number }): ReadBody {
  const parsers = [
    express.json({ limit: limitBytes, strict: false, type: ['application/json', 'application/*+json'] }),
    express.urlencoded({ limit: limitBytes, extended: false }),
  ];
  return async (request, response) => {
    for (const parser of parsers) await run(parser, request, response);
    // Left out silently, a run would start without the inputs that were sent.
    if (request.body === undefined && hasBody(request))
      throw new AppError('INVALID_REQUEST', 'The body must be JSON, and its content-type application/json');
    return request.body;
  };
}

function run(parser: RequestHandler, request: Request, response: Response): Promise<void> {
  return new Promise((resolve, reject) => {
    void parser(request, response, (error?: unknown) => (error ? reject(error) : resolve()));
  });
}

function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
