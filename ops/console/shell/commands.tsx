import { ActionIcon } from '@mantine/core';
import { type ComponentType, lazy, Suspense, useEffect, useState } from 'react';
import { Icon } from '../ui/icon.tsx';
import { isTyping } from '../ui/typing.ts';
import type { Pages } from './key-list.tsx';
import { hasSingleKeys } from './single-keys.ts';

const KeyList = lazy(() => import('./key-list.tsx').then(({ KeyList: one }) => ({ default: one })));

interface Props {
  palette: ComponentType<{ onClose: () => void; onKeys: () => void }>;
  of: Pages;
}

/** The palette of commands, and the list of keys: each is loaded when it is opened first. */
export function Commands({ palette: Palette, of }: Props) {
  const [shown, setShown] = useState<'palette' | 'keys'>();
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const opened = openedBy(event);
      if (!opened) return;
      event.preventDefault();
      setShown(opened);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  const close = () => setShown(undefined);
  return (
    <>
      <ActionIcon variant="default" size="lg" aria-label="Commands" title="Ctrl K" onClick={() => setShown('palette')}>
        <Icon name="search" />
      </ActionIcon>
      <Suspense>
        {shown === 'palette' && <Palette onClose={close} onKeys={() => setShown('keys')} />}
        {shown === 'keys' && <KeyList of={of} onClose={close} />}
      </Suspense>
    </>
  );
}

function openedBy(event: KeyboardEvent): 'palette' | 'keys' | undefined {
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k') return 'palette';
  const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
  return isPlain && event.key === '?' && !isTyping(event.target) && hasSingleKeys() ? 'keys' : undefined;
}
