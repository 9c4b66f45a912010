import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { lazy, Suspense } from 'react';
import type { Request } from './read.ts';

const CurlDialog = lazy(() => import('./dialog.tsx').then(({ CurlDialog: one }) => ({ default: one })));

/** Fills a step that sends a request from a `curl` command, as browsers and documentation have it. */
export function PasteCurl({ onFill }: { onFill: (request: Request) => void }) {
  const [isOpen, dialog] = useDisclosure(false);
  return (
    <>
      <div>
        <Button size="compact-xs" variant="default" onClick={dialog.open}>
          Paste a curl command
        </Button>
      </div>
      <Suspense>{isOpen && <CurlDialog onFill={onFill} onClose={dialog.close} />}</Suspense>
    </>
  );
}
