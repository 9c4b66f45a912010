import '@mantine/core/styles/Kbd.css';
import { Checkbox, Kbd, Modal, Stack } from '@mantine/core';
import { useState } from 'react';
import { hasSingleKeys, setSingleKeys } from './single-keys.ts';

/** The pages of tenants, or those of people on call. */
export type Pages = 'console' | 'fleet';

interface Key {
  keys: readonly string[];
  does: string;
  /** Where they are not those of all pages. */
  only?: Pages;
}

const keys: readonly Key[] = [
  {
    keys: ['Ctrl', 'K'],
    does: 'Commands: go to a page or a workflow, change the tenant or the colours',
    only: 'console',
  },
  { keys: ['Ctrl', 'K'], does: 'Commands: go to a tenant or a queue, change the colours', only: 'fleet' },
  { keys: ['Ctrl', 'J'], does: 'Opens and closes the assistant', only: 'console' },
  { keys: ['?'], does: 'These keys' },
  { keys: ['Tab'], does: 'The next control; the first one on a page skips to its content' },
  { keys: ['Enter'], does: 'Opens a step of a graph, applies a filter, sends a form', only: 'console' },
  { keys: ['Enter'], does: 'Follows a link, finds a tenant', only: 'fleet' },
  { keys: ['↑', '↓'], does: 'Choose in lists, menus and tabs' },
  { keys: ['A'], does: 'In the editor of workflows: adds a step behind the chosen one', only: 'console' },
  { keys: ['N'], does: 'In the editor: adds a note', only: 'console' },
  { keys: ['D'], does: 'In the editor: disables the chosen steps, or enables them', only: 'console' },
  { keys: ['Ctrl', 'A'], does: 'In the editor: chooses all steps', only: 'console' },
  { keys: ['Ctrl', 'C'], does: 'In the editor: copies the chosen steps, as JSON', only: 'console' },
  { keys: ['Ctrl', 'X'], does: 'In the editor: cuts them', only: 'console' },
  { keys: ['Ctrl', 'V'], does: 'In the editor: pastes steps', only: 'console' },
  { keys: ['Ctrl', 'D'], does: 'In the editor: duplicates the chosen steps', only: 'console' },
  { keys: ['Ctrl', 'Enter'], does: 'In the graph of the editor: chooses one more step', only: 'console' },
  { keys: ['Del'], does: 'In the editor: removes the chosen steps, and leads the ways on', only: 'console' },
  {
    keys: ['Ctrl', 'Z'],
    does: 'Takes back a change in the editor of workflows; with Shift, does it again',
    only: 'console',
  },
  {
    keys: ['Ctrl', 'Space'],
    does: 'In code: what can stand here. Tab leaves the field, as everywhere',
    only: 'console',
  },
  { keys: ['Ctrl', 'Enter'], does: 'In code: sends its form, or runs the SQL', only: 'console' },
  { keys: ['Ctrl', ']'], does: 'In code: indents the line; with [ less, with / makes it a comment', only: 'console' },
  { keys: ['Esc'], does: 'Closes a dialog, a menu or a list' },
];

export function KeyList({ of, onClose }: { of: Pages; onClose: () => void }) {
  const own = keys.filter(({ only = of }) => only === of);
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
            {own.map((one) => (
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
