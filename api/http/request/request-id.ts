import type { RequestHandler } from 'express';
import { newID } from '#shared/core/ids.ts';

const acceptable = /^[\w.:-]{1,128}$/;

/** The client's own id if it is safe for a log line, else a new one; sent back with every response. */
export const requestID: RequestHandler = (request, response, next) => {
  const given = request.get('x-request-id');
  response.setHeader('x-request-id', given && acceptable.test(given) ? given : newID());
  next();
};
