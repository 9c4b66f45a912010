import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { readWholeEvent } from '../client/live-run.ts';
import { Icon } from '../ui/icon.tsx';
import { Notice } from '../ui/notice.tsx';
import { checkedPin, type EditedStep, type Pin, pinOf } from './pins.ts';
import { type StepResult, usableStep } from './results.ts';

const PinDialog = lazy(() => import('./pin-dialog.tsx').then(({ PinDialog: one }) => ({ default: one })));

export interface PinProps {
  tenantID: string;
  node: EditedStep;
  /** The result of the step in the last test. */
  result: StepResult | undefined;
  exits: readonly { id: string; name: string }[];
  onPin: (pin: Pin | undefined) => void;
}

/** Pins the result of a step, or asks for one where no test has given any. */
export function usePinning({ tenantID, node, result, exits, onPin }: PinProps) {
  const [isAsking, setAsking] = useState(false);
  const last = result && usableStep(result.steps)?.last;
  const own = last?.isPinned === true ? undefined : last;
  const pin = useMutation({
    mutationFn: async () => {
      if (!own || !result) return;
      const ids = { tenantID, instanceID: result.run.instanceID };
      const output = own.outputOmitted ? await readWholeEvent(ids, own) : own.output;
      onPin(checkedPin(output, own.exit ?? undefined));
    },
  });
  return {
    label: own ? 'Pin this result' : 'Pin a result by hand',
    begin: own ? () => pin.mutate() : () => setAsking(true),
    error: pin.error,
    dialog: (
      <Suspense>
        {isAsking && (
          <PinDialog node={node} pin={undefined} exits={exits} onPin={onPin} onClose={() => setAsking(false)} />
        )}
      </Suspense>
    ),
  };
}

/** Says that the result of a step is pinned, with the ways to change it. */
export function PinnedNote({
  node,
  exits,
  isReadOnly,
  onPin,
}: Omit<PinProps, 'tenantID' | 'result'> & { isReadOnly: boolean }) {
  const [isEditing, setEditing] = useState(false);
  const pin = pinOf(node);
  if (!pin) return null;
  return (
    <Notice tone="idle">
      <Icon name="pin" size={13} /> <strong>Pinned.</strong> Tests take this result and do not run the step; runs of the
      published version always run it.{' '}
      {!isReadOnly && (
        <>
          <Button size="compact-xs" variant="default" onClick={() => setEditing(true)}>
            Edit the data
          </Button>{' '}
          <Button size="compact-xs" variant="default" onClick={() => onPin(undefined)}>
            Unpin
          </Button>
        </>
      )}
      <Suspense>
        {isEditing && <PinDialog node={node} pin={pin} exits={exits} onPin={onPin} onClose={() => setEditing(false)} />}
      </Suspense>
    </Notice>
  );
}
