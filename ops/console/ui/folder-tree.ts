interface Node {
  id: string;
  folderTitle: string;
  parentFolderID: string | null;
}

/** Folders as choices, each by its way from the top, in the order of these. */
export function folderChoices(folders: readonly Node[]): { value: string; label: string }[] {
  const byID = new Map(folders.map((folder) => [folder.id, folder]));
  return folders
    .map(({ id }) => ({ value: id, label: wayTo(id, byID) }))
    .sort((one, other) => one.label.localeCompare(other.label));
}

function wayTo(id: string, byID: ReadonlyMap<string, Node>): string {
  const titles: string[] = [];
  const seen = new Set<string>();
  for (let at = byID.get(id); at && !seen.has(at.id); at = byID.get(at.parentFolderID ?? '')) {
    seen.add(at.id);
    titles.unshift(at.folderTitle);
  }
  return titles.join(' / ');
}

/** A folder and all that are in it, at any depth. */
export function withinFolder(id: string, folders: readonly Node[]): ReadonlySet<string> {
  const within = new Set([id]);
  for (let size = 0; size < within.size; ) {
    size = within.size;
    for (const { id: one, parentFolderID } of folders) if (within.has(parentFolderID ?? '')) within.add(one);
  }
  return within;
}
