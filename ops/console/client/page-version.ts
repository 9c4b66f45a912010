/** A page or a dashboard, of which the API keeps versions. */
export interface PageIDs {
  tenantID: string;
  kind: 'app-page' | 'dashboard';
  id: string;
}

export interface SavedVersion {
  id: string;
  number: number;
  title: string;
  note: string | null;
  creatorID: string;
  createdByApiKeyID: string | null;
  createdAt: string;
}

/** The content that a version has saved. */
export interface VersionContent {
  title: string;
  description: string | null;
  config: Readonly<Record<string, unknown>>;
}
