import type { RequestListener } from 'node:http';
import { alive, bodyOf, createStarting, type Starting, sendJSON } from '#shared/process/readiness.ts';
import { errorTitleFor, sendErrorPage } from './error-page.ts';

export interface StartingResponses extends Pick<Starting, 'noteAway'> {
  respond: RequestListener;
}

/** Answers requests until the API has reached its database: alive, not ready, everything else 503. */
export function createStartingResponses(): StartingResponses {
  const starting = createStarting();
  return {
    noteAway: starting.noteAway,
    respond(request, response) {
      const { pathname } = new URL(request.url ?? '/', 'http://localhost');
      const title = errorTitleFor(request);
      if (pathname === '/health') sendJSON(response, 200, alive());
      else if (pathname === '/ready') sendJSON(response, 503, bodyOf(starting.readiness));
      else if (title !== undefined) sendErrorPage(response, { title, status: 503, retryAfter: 5, ...UNAVAILABLE });
      else sendJSON(response, 503, { success: false, error: UNAVAILABLE });
    },
  };
}

const UNAVAILABLE = { code: 'UNAVAILABLE', message: 'The service is starting' };
