/** The tables of API tokens (migrations/0013), as Kysely sees them. */

import type { ColumnType, Generated } from "kysely";

type Timestamp = ColumnType<Date, Date | string, Date | string>;

export interface ApiTokenTable {
  id: Generated<string>;
  seq: Generated<number>;
  hash: Buffer;
  name: string;
  capabilities: string[];
  every_repository: boolean;
  rooted: boolean;
  tags: string[] | null;
  github_login: string | null;
  created_by: string;
  created_at: Generated<Date>;
  expires_at: Timestamp | null;
  revoked_at: Timestamp | null;
  revoked_by: string | null;
  last_used_at: Timestamp | null;
}

export interface TokenTables {
  api_token: ApiTokenTable;
  api_token_repository: { repository_id: number; token_id: string };
  api_token_root: { repository_id: number; number: number; token_id: string };
}
