/** A thread that reads SQL: answers each request with what the function of that name returns. */
import { parentPort } from 'node:worker_threads';
import { faultOfExpression, findStatements } from './read-sql.ts';
import type { SQLRequest } from './sql-thread.ts';

parentPort?.on('message', (request: SQLRequest) => {
  const { text } = request;
  parentPort?.postMessage(
    request.work === 'findStatements' ? findStatements(text, request.max) : faultOfExpression(text),
  );
});
