/** Whether two types are the same, not merely assignable both ways: `any` equals nothing but `any`. */
export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** Refuses to compile unless given `true`. */
export type Expect<T extends true> = T
