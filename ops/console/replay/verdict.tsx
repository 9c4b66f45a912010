import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { type ReplayedEvent, type Shadow, shadowRead } from '../client/shadow-replay.ts';
import { verdictOf } from './replayed.ts';

interface Props {
  shadow: Shadow;
  replayed: ReplayedEvent;
  isOpen: boolean;
  /** A replay that went on has ended. */
  onBegun: (shadow: Shadow) => void;
  onToggle: () => void;
}

/** The outcome of a replay; one that goes on is asked for until it ends. */
export function Verdict({ shadow: begun, replayed, isOpen, onBegun, onToggle }: Props) {
  const read = useQuery({ ...shadowRead(replayed, begun), enabled: begun.diff === null });
  const { data: shadow = begun } = read;
  const hasEnded = begun.diff === null && shadow.diff !== null;
  useEffect(() => {
    if (hasEnded) onBegun(shadow);
  }, [hasEnded, shadow, onBegun]);
  const error = errorInPlaceOf(read);
  if (error) return <span className="fault">{error.message}</span>;
  const verdict = verdictOf(begun);
  if (!verdict) return <span className="note">Running …</span>;
  return (
    <>
      <span className="status" data-tone={verdict.tone}>
        {verdict.word}
      </span>{' '}
      <Button size="compact-xs" variant="default" aria-expanded={isOpen} onClick={onToggle}>
        What differs
      </Button>
    </>
  );
}
