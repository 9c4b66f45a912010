import { Button } from '@mantine/core';
import { Notice } from '../ui/notice.tsx';
import type { StoredDraft } from './stored-draft.ts';

interface Props {
  found: StoredDraft;
  /** The version that is open. */
  versionNumber: number;
  onRestore: (found: StoredDraft) => void;
  onDiscard: () => void;
}

/** Offers changes that a person has left without saving them. */
export function Restore({ found, versionNumber, onRestore, onDiscard }: Props) {
  const at = new Date(found.at);
  const isToday = at.toDateString() === new Date().toDateString();
  const when = isToday
    ? at.toLocaleTimeString([], { timeStyle: 'short' })
    : at.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
  return (
    <Notice tone="wait" role="status" title={`Your changes of ${when} are not saved`}>
      {found.versionNumber !== versionNumber &&
        `They are changes of version ${found.versionNumber}, and version ${versionNumber} was saved since: when you save, you are asked which of them to keep. `}
      <Button size="compact-xs" onClick={() => onRestore(found)}>
        Restore your unsaved changes
      </Button>{' '}
      <Button size="compact-xs" variant="default" onClick={onDiscard}>
        Discard them
      </Button>
    </Notice>
  );
}
