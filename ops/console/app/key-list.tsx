import { Checkbox, Kbd, Modal, Stack } from '@mantine/core';
import { useState } from 'react';
import { hasSingleKeys, setSingleKeys } from './single-keys.ts';

const keys = [
  { keys: ['Ctrl', 'K'], does: 'Commands: go to a page or a workflow, change the tenant or the colours' },
  { keys: ['?'], does: 'These keys' },
  { keys: ['Tab'], does: 'The next control; the first one on a page skips to its content' },
  { keys: ['Enter'], does: 'Opens a step of a graph, applies a filter, sends a form' },
  { keys: ['↑', '↓'], does: 'Choose in lists, menus and tabs' },
  { keys: ['Ctrl', 'Z'], does: 'Takes back a change in the editor of workflows; with Shift, does it again' },
  { keys: ['Esc'], does: 'Closes a dialog, a menu or a list' },
];

export function KeyList({ onClose }: { onClose: () => void }) {
  const [isOn, setOn] = useState(hasSingleKeys);
  return (
    <Modal opened onClose={onClose} title="Keys">
      <Stack>
        <table className="list">
          <caption className="unseen">Keys, and what they do</caption>
          <thead>
            <tr>
              <th scope="col">Keys</th>
              <th scope="col">What they do</th>
            </tr>
          </thead>
          <tbody>
            {keys.map((one) => (
              <tr key={one.does}>
                <td className="nowrap">
                  {one.keys.map((key) => (
                    <Kbd key={key} mr={4}>
                      {key}
                    </Kbd>
                  ))}
                </td>
                <td>{one.does}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <Checkbox
          label="Single keys such as ?"
          description="Keys with Ctrl work always"
          checked={isOn}
          onChange={({ currentTarget: { checked } }) => {
            setOn(checked);
            setSingleKeys(checked);
          }}
        />
      </Stack>
    </Modal>
  );
}
