-- A key without the unit is unique over the rows of all members. So the error of an insert said whether a hidden document
-- has a passage of this number, or vectors. A document has one unit, so the longer keys are as unique.
ALTER TABLE passages DROP CONSTRAINT passages_pkey, ADD PRIMARY KEY (document, number, unit);
ALTER TABLE embedded DROP CONSTRAINT embedded_pkey, ADD PRIMARY KEY (document, space, unit);
ALTER TABLE vectors DROP CONSTRAINT vectors_pkey, ADD PRIMARY KEY (space, document, seq, unit);
