import { Modal } from '@mantine/core';
import { appPageOf } from '../../document.ts';
import { Sharing } from './sharing.tsx';

interface Props {
  read: Parameters<typeof appPageOf>[0];
  onClose: () => void;
}

/** Who can open a page, beside the page itself. */
export function SharePage({ read, onClose }: Props) {
  return (
    <Modal opened onClose={onClose} title="Share">
      <Sharing document={appPageOf(read).document} />
    </Modal>
  );
}
