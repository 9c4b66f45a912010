import { Button } from '@mantine/core';
import { APIError, isRefusal } from '../client/rest.ts';
import { Notice } from './notice.tsx';

/** An error in the words of the server, with another try if it may be temporary. */
export function Problem({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  const isForbidden = error instanceof APIError && error.status === 403;
  return (
    <Notice tone="bad" role="alert" title={isForbidden ? 'You may not do this' : 'That failed'}>
      {wordsOf(error)}{' '}
      {onRetry && !isRefusal(error) && (
        <Button size="compact-xs" variant="default" onClick={onRetry}>
          Try again
        </Button>
      )}
    </Notice>
  );
}

/** A request that reached no server fails with words of the browser. */
export function wordsOf(error: Error): string {
  return error instanceof TypeError && /fetch/i.test(error.message) ? 'The server cannot be reached.' : error.message;
}
