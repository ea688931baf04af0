"""Questions whose answer changed, or is contradicted: does the newer statement come first, and is the older marked?"""
