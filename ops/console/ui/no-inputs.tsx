import { Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';

interface Props {
  /** The query or the workflow. */
  noun: string;
  /** The field shows something, or a fault of it: it is not folded away. */
  isOpen: boolean;
  /** A field for JSON; null where nothing else is read. */
  children: ReactNode;
}

/** Asks for nothing where no inputs are declared; what reads some all the same can be given them. */
export function NoInputs({ noun, isOpen, children }: Props) {
  // It stays open while it is being emptied.
  const [wasOpen, setWasOpen] = useState(isOpen);
  if (isOpen && !wasOpen) setWasOpen(true);
  return (
    <div>
      <Text size="sm">The {noun} declares no inputs: nothing needs to be given.</Text>
      {children && (
        <details className="group" open={wasOpen}>
          <summary>Give it data as JSON</summary>
          {children}
        </details>
      )}
    </div>
  );
}
