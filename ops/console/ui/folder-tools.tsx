import { Button, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  changeFolder,
  createFolder,
  deleteFolder,
  type Folder,
  type Foldered,
  moveToFolder,
  refreshFolders,
} from '../client/folders.ts';
import { useMay } from '../client/may.ts';
import { Confirm } from './confirm.tsx';
import { FolderSelect } from './folder-select.tsx';
import { withinFolder } from './folder-tree.ts';
import { FormDialog } from './form.tsx';

interface Props {
  tenantID: string;
  entityType: Foldered;
  folders: readonly Folder[];
  /** The folder whose content is shown. */
  current: Folder | undefined;
  onCurrent: (folderID: string | undefined) => void;
}

/** Makes folders, and changes the one that is shown. */
export function FolderTools({ tenantID, entityType, folders, current, onCurrent }: Props) {
  const may = useMay();
  const queries = useQueryClient();
  const [asked, setAsked] = useState<'new' | 'change' | 'delete'>();
  const close = () => setAsked(undefined);
  const mayChange = current && may('folder.update');
  return (
    <>
      {may('folder.create') && (
        <Button size="xs" variant="default" onClick={() => setAsked('new')}>
          New folder
        </Button>
      )}
      {mayChange && (
        <Button size="xs" variant="default" onClick={() => setAsked('change')}>
          Rename or move the folder
        </Button>
      )}
      {current && may('folder.delete') && (
        <Button size="xs" variant="default" onClick={() => setAsked('delete')}>
          Delete the folder
        </Button>
      )}
      {asked === 'new' && (
        <FolderDialog
          title="New folder"
          verb="Create"
          folders={folders}
          initial={{ title: '', parent: current?.id }}
          onSave={async (folderTitle, parentFolderID) => {
            const made = await createFolder(tenantID, { entityType, folderTitle, parentFolderID });
            await refreshFolders(queries, tenantID);
            onCurrent(made);
          }}
          onClose={close}
        />
      )}
      {asked === 'change' && current && (
        <FolderDialog
          title="Rename or move the folder"
          verb="Save"
          folders={folders.filter(({ id }) => !withinFolder(current.id, folders).has(id))}
          initial={{ title: current.folderTitle, parent: current.parentFolderID ?? undefined }}
          onSave={async (folderTitle, parentFolderID) => {
            await changeFolder({ tenantID, folderID: current.id }, { folderTitle, parentFolderID });
            await refreshFolders(queries, tenantID);
          }}
          onClose={close}
        />
      )}
      {asked === 'delete' && current && (
        <Confirm
          title="Delete the folder"
          question={`“${current.folderTitle}” is deleted. What is in it is kept, and is in no folder then.`}
          verb="Delete"
          onConfirm={async () => {
            await deleteFolder({ tenantID, folderID: current.id });
            onCurrent(undefined);
            await refreshFolders(queries, tenantID);
          }}
          onClose={close}
        />
      )}
    </>
  );
}

interface DialogProps {
  title: string;
  verb: string;
  folders: readonly Folder[];
  initial: { title: string; parent: string | undefined };
  onSave: (title: string, parent: string | null) => Promise<unknown>;
  onClose: () => void;
}

function FolderDialog({ title, verb, folders, initial, onSave, onClose }: DialogProps) {
  const [name, setName] = useState(initial.title);
  const [parent, setParent] = useState<string | null>(initial.parent ?? null);
  const save = useMutation({ mutationFn: () => onSave(name.trim(), parent), onSuccess: onClose });
  return (
    <FormDialog title={title} verb={verb} save={save} onClose={onClose}>
      <TextInput
        label="Title"
        required
        data-autofocus
        value={name}
        onChange={({ currentTarget: { value } }) => setName(value)}
      />
      {folders.length > 0 && (
        <FolderSelect
          label="In the folder"
          none="None: at the top"
          clear="At the top"
          folders={folders}
          value={parent}
          onChange={setParent}
        />
      )}
    </FormDialog>
  );
}

interface MoveProps {
  tenantID: string;
  entityType: Foldered;
  folders: readonly Folder[];
  ids: readonly string[];
  /** Their number in words. */
  what: string;
  onMoved: () => void;
}

/** Moves the chosen rows of a list. */
export function MoveChosen({ tenantID, entityType, folders, ids, what, onMoved }: MoveProps) {
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const [target, setTarget] = useState<string | null>(null);
  const move = useMutation({
    mutationFn: () => moveToFolder(tenantID, { entityType, entityIDs: [...ids], folderID: target }),
    async onSuccess() {
      await refreshFolders(queries, tenantID);
      setOpen(false);
      onMoved();
    },
  });
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpen(true)}>
        Move {what}
      </Button>
      {isOpen && (
        <FormDialog title={`Move ${what}`} verb="Move" save={move} onClose={() => setOpen(false)}>
          <FolderSelect
            label="To the folder"
            none="Out of every folder"
            folders={folders}
            value={target}
            onChange={setTarget}
          />
        </FormDialog>
      )}
    </>
  );
}
