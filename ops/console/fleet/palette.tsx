import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { type Command, CommandDialog, usePageCommands, useSearched, wordsOf } from '../shell/command-dialog.tsx';
import { board, queuePath } from './board.ts';
import { foundRead } from './client.ts';

const VERB = 'Go to the tenant';
const verbWords = wordsOf([VERB]);

/** Commands found by words: the fleet, the queues of the board, and tenants by their titles. */
export function FleetPalette({ onClose, onKeys }: { onClose: () => void; onKeys: () => void }) {
  const [typed, setTyped] = useState('');
  const navigate = useNavigate();
  const ofPage = usePageCommands({ onKeys, ...(board.signsOut && { onSignOut: () => location.assign('/logout') }) });
  const text = useSearched(typed, verbWords);
  const { data = [], isFetching } = useQuery(foundRead(text));
  const tenants = (text === undefined ? [] : data).map(
    ({ tenantID, tenantTitle }): Command => ({
      ...{ key: tenantID, verb: VERB, name: tenantTitle ?? tenantID },
      run: () => navigate({ to: `/tenants/${tenantID}` as never }),
    }),
  );
  const commands: Command[] = [
    { key: 'fleet', verb: 'Go to the', name: 'fleet', run: () => navigate({ to: '/' }) },
    { key: 'queues', verb: 'Go to the', name: 'queues', run: () => location.assign('/') },
    ...board.queues.map((queue) => ({
      ...{ key: queue, verb: 'Open the queue', name: queue },
      run: () => location.assign(queuePath(queue)),
    })),
    ...ofPage,
  ];
  return (
    <CommandDialog
      placeholder="A tenant’s title, a queue …"
      typed={typed}
      onType={setTyped}
      commands={commands}
      found={tenants}
      isSearching={text !== undefined && isFetching}
      onClose={onClose}
    />
  );
}
