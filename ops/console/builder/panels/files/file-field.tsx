import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { ValueText } from '../values/value-text.tsx';
import { FileDialog } from './file-dialog.tsx';
import type { FileKind } from './kinds.ts';

interface Props {
  label: string;
  description: string;
  kind: FileKind;
  value: unknown;
  onChange: (value: string | undefined) => void;
}

/** The address of a file: one that was uploaded is chosen, or uploaded here. */
export function FileField({ label, description, kind, value, onChange }: Props) {
  const [isOpen, dialog] = useDisclosure(false);
  return (
    <div>
      <ValueText {...{ label, description, value, onChange }} />
      <Button size="compact-xs" variant="default" mt={4} onClick={dialog.open}>
        Choose or upload {kind === 'image' ? 'an image' : 'a video'}
      </Button>
      {isOpen && (
        <FileDialog
          kind={kind}
          onChoose={(url) => {
            dialog.close();
            onChange(url);
          }}
          onClose={dialog.close}
        />
      )}
    </div>
  );
}
