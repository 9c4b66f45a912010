import { Select } from '@mantine/core';
import type { Folder } from '../client/folders.ts';
import { folderChoices } from './folder-tree.ts';

interface Props {
  label: string;
  /** Shown for no folder. */
  none: string;
  /** The name of the button that goes back to none. */
  clear?: string;
  folders: readonly Folder[];
  value: string | null;
  onChange: (folderID: string | null) => void;
}

export function FolderSelect({ label, none, clear = none, folders, value, onChange }: Props) {
  return (
    <Select
      label={label}
      placeholder={none}
      clearable
      clearButtonProps={{ 'aria-label': clear }}
      searchable
      data={folderChoices(folders)}
      value={value}
      onChange={onChange}
    />
  );
}
