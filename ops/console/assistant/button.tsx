import { ActionIcon } from '@mantine/core';
import { lazy, Suspense, useEffect, useRef } from 'react';
import { useMay } from '../client/may.ts';
import { whenServed } from '../client/when-served.ts';
import { useAsked } from '../open-page/open-page.ts';
import { Icon } from '../ui/icon.tsx';
import { useStored } from './stored.ts';

const Panel = lazy(() => whenServed(() => import('./panel.tsx')).then(({ Panel: one }) => ({ default: one })));

/** Opens and closes the assistant, which stays open from page to page. Its code is loaded when it is opened first. */
export function Assistant({ tenantID }: { tenantID: string }) {
  const may = useMay()('ai.execute');
  const button = useRef<HTMLButtonElement>(null);
  const [stored, store] = useStored('gantry.assistant', () => 'closed');
  const isOpen = stored === 'open';
  const setOpen = (next: boolean) => store(next ? 'open' : 'closed');
  const latest = useRef({ may, isOpen, setOpen });
  latest.current = { may, isOpen, setOpen };
  const asked = useAsked();
  useEffect(() => {
    if (asked !== undefined) latest.current.setOpen(true);
  }, [asked]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== 'j')
        return;
      event.preventDefault();
      if (latest.current.may) latest.current.setOpen(!latest.current.isOpen);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  if (!may) return null;
  return (
    <>
      <ActionIcon
        ref={button}
        variant={isOpen ? 'light' : 'default'}
        size="lg"
        aria-label="Assistant"
        aria-expanded={isOpen}
        title="Ctrl J"
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="spark" />
      </ActionIcon>
      <Suspense>
        {isOpen && (
          <Panel
            tenantID={tenantID}
            onClose={() => {
              setOpen(false);
              button.current?.focus();
            }}
          />
        )}
      </Suspense>
    </>
  );
}
