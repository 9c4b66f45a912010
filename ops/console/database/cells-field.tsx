import { Button, FileButton, Stack, Textarea } from '@mantine/core';
import { useState } from 'react';

/** A browser holds the file and its rows at once. */
const MAX_BYTES = 20_000_000;

/** A text of cells, and where it is from. */
export interface Given {
  name: string;
  read: () => Promise<string>;
}

interface Props {
  /** Names as the first line may have them. */
  example: readonly string[];
  isPending?: boolean;
  onGiven: (given: Given) => void;
  /** The pasted text was removed again. */
  onCleared: () => void;
}

/** Rows with their names in the first line: pasted from a spreadsheet, or a file. */
export function CellsField({ example, isPending = false, onGiven, onCleared }: Props) {
  const [pasted, setPasted] = useState('');
  const paste = (text: string) => {
    setPasted(text);
    if (text.trim() === '') onCleared();
    else onGiven({ name: 'Pasted cells', read: async () => text });
  };
  const choose = (file: File | null) => {
    if (!file) return;
    setPasted('');
    onGiven({ name: file.name, read: () => textOf(file) });
  };
  return (
    <Stack gap="xs">
      <Textarea
        label="Paste from a spreadsheet"
        description="Cells with tabs, commas or semicolons between them"
        placeholder={example.join('\t')}
        autosize
        minRows={3}
        maxRows={10}
        styles={{ input: { whiteSpace: 'pre', overflowX: 'auto' } }}
        value={pasted}
        onChange={({ currentTarget: { value } }) => paste(value)}
      />
      <div>
        <FileButton accept=".csv,.tsv,.txt,text/csv" onChange={choose}>
          {(props) => (
            <Button {...props} size="xs" variant="default" loading={isPending}>
              Choose a CSV file
            </Button>
          )}
        </FileButton>
      </div>
    </Stack>
  );
}

async function textOf(file: File): Promise<string> {
  if (file.size > MAX_BYTES) throw new Error('The file has more than 20 MB: import it in parts');
  return file.text();
}
