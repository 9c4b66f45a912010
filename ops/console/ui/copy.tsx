import { Button, CopyButton } from '@mantine/core';

/** Copies a text, and says so. */
export function Copy({ value, of }: { value: string; of: string }) {
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Button size="compact-xs" variant="default" aria-label={copied ? `Copied ${of}` : `Copy ${of}`} onClick={copy}>
          {copied ? 'Copied' : 'Copy'}
        </Button>
      )}
    </CopyButton>
  );
}
