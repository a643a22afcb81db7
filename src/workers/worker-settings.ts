/** What a worker thread is told when it starts. */
export interface WorkerSettings {
  readonly lakeDirectory: string;
  readonly spillDirectory: string;
  readonly loadMemoryBytesMax: number;
  readonly queryMemoryBytesMax: number;
  readonly windowBytesMax: number;
  readonly batchRows: number;
  readonly expandedBytesMax: number;
}
