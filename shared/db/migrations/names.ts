/**
 * In order; entries are only appended. Without the classes, so that a process that only checks which migrations have run does
 * not load the packages that run them.
 */
export const migrationNames = [
  'Migration20261121000000_Foundation',
  'Migration20261121120000_ApiKeys',
  'Migration20261121130000_Operators',
  'Migration20261121140000_Roles',
  'Migration20261121150000_TenantSecrets',
  'Migration20261121155000_People',
  'Migration20261121160000_TenantDatabases',
  'Migration20261121170000_Datasources',
  'Migration20261121180000_TenantFiles',
  'Migration20261121190000_ResultPages',
  'Migration20261121200000_OAuthConnections',
  'Migration20261122090000_HandBacks',
  'Migration20261122091000_SweepLeader',
  'Migration20261122104100_Suspects',
  'Migration20261122105500_AwaitedRuns',
  'Migration20261122105700_RunNotices',
  'Migration20261122110000_SealedAnswers',
  'Migration20261122110500_TenantServers',
  'Migration20261122112000_Frames',
  'Migration20261122112500_TenantConnections',
  'Migration20261122113000_OneRowPerStep',
  'Migration20261122114000_RetentionIndexes',
  'Migration20261122115500_Checkpoints',
  'Migration20261122120000_Quotas',
  'Migration20261122120600_DatabaseMoves',
  'Migration20261122120700_DatabaseSizes',
  'Migration20261122133000_WorkflowVersions',
  'Migration20261122140300_FrameKeys',
] as const;
