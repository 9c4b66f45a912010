import { Button, Group, Modal, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { type ReadCurl, type Request, readCurl } from './read.ts';

/** Shows what a command says before it fills the step. */
export function CurlDialog({ onFill, onClose }: { onFill: (request: Request) => void; onClose: () => void }) {
  const [text, setText] = useState('');
  const read = text.trim() === '' ? undefined : tryToRead(text);
  const found = read && 'request' in read ? read : undefined;
  return (
    <Modal opened onClose={onClose} closeOnClickOutside={false} title="Paste a curl command" size="lg">
      <Stack gap="sm">
        <Textarea
          label="Command"
          description="Address, method, headers and body of the step are replaced by those of the command"
          placeholder="curl https://api.example.com/items -H 'Accept: application/json'"
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          autosize
          minRows={4}
          maxRows={14}
          data-autofocus
          value={text}
          error={read && 'fault' in read ? read.fault : undefined}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
        {found && (
          <div role="status">
            <Text size="sm" className="breaks">
              {found.request.method} {found.request.url}
            </Text>
            <ul className="lines">
              {found.notes.map((note) => (
                <li key={note}>{note}</li>
              ))}
            </ul>
          </div>
        )}
        <Group justify="flex-end">
          <Button
            disabled={!found}
            onClick={() => {
              if (found) onFill(found.request);
              onClose();
            }}
          >
            Fill the step
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function tryToRead(text: string): ReadCurl | { fault: string } {
  try {
    return readCurl(text);
  } catch (error) {
    return { fault: (error as Error).message };
  }
}
