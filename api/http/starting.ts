import type { RequestListener } from 'node:http';

export interface Starting {
  answer: RequestListener;
  /** Postgres did not answer an attempt to start. */
  noteAway(): void;
}

/** Answers requests until the API has reached its database: alive, not ready, everything else 503. */
export function createStarting(): Starting {
  let isAway = false;
  return {
    noteAway() {
      isAway = true;
    },
    answer(request, response) {
      const { pathname } = new URL(request.url ?? '/', 'http://localhost');
      const [status, body] = answerTo(pathname, isAway);
      response.writeHead(status, {
        'content-type': 'application/json; charset=utf-8',
        ...(status === 503 && { 'retry-after': '1' }),
      });
      response.end(JSON.stringify(body));
    },
  };
}

function answerTo(path: string, isAway: boolean): [status: number, body: object] {
  if (path === '/health') return [200, { success: true, status: 'ok', timestamp: new Date().toISOString() }];
  if (path === '/ready') {
    const checks = { postgres: isAway ? 'is away' : 'was not asked yet' };
    return [503, { success: false, status: 'not ready', checks }];
  }
  return [503, { success: false, error: { code: 'UNAVAILABLE', message: 'The service is starting' } }];
}
