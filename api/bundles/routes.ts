import { exportBundle, exportRoutes } from './export/export.ts';
import { applyImport, executeImport, planBundle, previewImport } from './import/import.ts';
import { createImportJob, createRollbackJob, getImportJob, listImportJobs } from './jobs/routes.ts';
import { listImports, rollBackImport } from './rollback/rollback.ts';

export const bundleRoutes = [
  ...exportRoutes,
  exportBundle,
  previewImport,
  executeImport,
  planBundle,
  applyImport,
  createImportJob,
  createRollbackJob,
  listImportJobs,
  getImportJob,
  listImports,
  rollBackImport,
];
